"""Where records come from: connections, files that arrive in a directory, standard input."""
