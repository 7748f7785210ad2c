"""Results as one HTML file that opens from disk: plain data, and a small script that draws them."""
