"""A laboratory for congestion management in Ethernet fabrics."""
