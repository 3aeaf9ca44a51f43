"""The core as a specification that a machine checks whole, and that the code is asked about row by row."""
