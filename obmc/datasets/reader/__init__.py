"""From a file of any form to coded columns of text and numbers: unpack, decode, split, name columns, read values."""
