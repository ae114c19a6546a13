"""What a stream does with each batch, one file each; `base` is the contract."""
