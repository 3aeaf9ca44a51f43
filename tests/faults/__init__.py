"""What the machine does to a keep: disks that are full, read-only or failing, clocks that go back, many keeps."""
