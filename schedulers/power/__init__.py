"""Power policies: when nodes sleep."""
