"""HTTP/1.1 as far as the proxy protocol needs it, on both sides."""
