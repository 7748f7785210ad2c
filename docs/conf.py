"""Sphinx settings; built with warnings as errors in .ci/run."""

from fairopt import __version__

project = "fairopt"
author = "the fairopt authors"
release = __version__
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"fairopt {release}"
nitpicky = True
