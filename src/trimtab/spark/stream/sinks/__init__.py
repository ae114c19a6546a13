"""Where results go, one file each; `base` is the contract."""
