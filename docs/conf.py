"""Sphinx settings; built with warnings as errors in .ci/run.

sphinx-build -W -b html docs docs/_build/html         the pages
python docs/_ext/links.py docs/_build/html            every link inside them, and that no page needs a network
sphinx-build -b linkcheck docs docs/_build/linkcheck  links to other sites; by hand, needs a network
"""  # noqa: E501

import os
import shutil
import sys
from pathlib import Path

# before the first import of NumPy: two BLAS threads on a busy machine are ten times slower than one
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# pages of names and of scripts that are gone
shutil.rmtree(Path(__file__).parent / "api", ignore_errors=True)
gallery, examples = Path(__file__).parent / "gallery", Path(__file__).parents[1] / "examples"
for page in gallery.rglob("*_*.rst"):
    script = page.relative_to(gallery).with_suffix(".py")
    if not any((examples / folder / script).exists() for folder in ("", "gallery")):
        page.unlink()

from facts import facts, mechanisms  # noqa: E402
from folded import Folded  # noqa: E402
from sizes import sizes  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

from fairopt import __version__  # noqa: E402

project = "fairopt"
author = "the fairopt authors"
project_copyright = "the fairopt authors, Apache-2.0"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "docstrings",
    "command_pages",
    "folded",
    "letters",
    "local_mathjax",
    "reachable",
]
exclude_patterns = ["_build", "_ext", "**/README.txt"]
exclude_patterns += ["gallery/**/*.py", "gallery/**/*.ipynb"]
exclude_patterns += ["results/*.md"]  # folded into the pages of docs/measured
templates_path = ["_templates"]
nitpicky = True
# types in signatures are for reading; links that must hold are those of the pages
nitpick_ignore_regex = [("py:.*", ".*")]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "attrs_inline", "substitution"]
myst_heading_anchors = 6
myst_substitutions = {
    **facts(),
    "mechanisms": Folded().relinked(mechanisms(), "choose/notion"),
    "sizes": sizes(),
}

html_theme = "furo"
html_title = "fairopt"
html_static_path = ["_static"]
html_css_files = ["fairopt.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005a94", "color-brand-content": "#005a94"},
    "dark_css_variables": {"color-brand-primary": "#6cb8ee", "color-brand-content": "#6cb8ee"},
}
copybutton_prompt_text = r"^(>>> |\.\.\. |\$ )"
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "signature"
# long unions are shown by the name that the package gives them
autodoc_type_aliases = {
    name: name
    for name in ("ArrayLike", "Bools", "Criterion", "Floats", "Given", "Ints", "Notion", "Path")
}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

SUBJECTS = ["papers", "notions", "wrong", "certificates", "quotas"]
SUBJECTS += ["over_time", "whole_tasks", "dynamics", "planning"]
"""the folders of examples/gallery, in the order of the page"""
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/notebooks"],
    "gallery_dirs": ["gallery", "gallery/notebooks"],
    "filename_pattern": r"/(plot|notebook)_",
    "nested_sections": False,
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "subsection_order": ExplicitOrder([f"../examples/gallery/{name}" for name in SUBJECTS]),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib",),
    "write_computation_times": False,
}
suppress_warnings = ["config.cache"]

linkcheck_timeout = 20
linkcheck_workers = 4
