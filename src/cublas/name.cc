// A library of another name: all that it is asked for is in those that it needs.
