"""Calls Sphinx: one function, all settings in one place, a warning is an error."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from labkit.errors import LabkitError
from labkit.site.documents import Documents

HERE = Path(__file__).resolve().parent
ASSETS = HERE / "assets"
STATIC = HERE / "static"


def settings(title: str, documents: Documents, static: list[Path], extra: Path) -> dict[str, Any]:
    """Sphinx's settings.

    Args:
        static: folders whose content goes to ``_static``; their ``*.css`` and ``*.js`` are loaded by every page.
        extra: folder whose content goes to the site's root.
    """
    import sphinx

    own = [path.name for folder in static for path in sorted(folder.iterdir())]
    mathjax = "mathjax4_config" if sphinx.version_info >= (9,) else "mathjax3_config"  # both set window.MathJax
    return {
        "project": title,
        "html_title": title,
        "language": "en",
        "extensions": ["myst_nb", "labkit.site.extension"],
        "labkit_figures": dict(documents.figures),
        "exclude_patterns": ["scripts/**", "solutions/**"],
        "highlight_language": "text",
        "nb_execution_mode": "off",
        "nb_merge_streams": True,
        "nb_render_markdown_format": "gfm",
        "myst_enable_extensions": ["dollarmath"],
        "myst_heading_anchors": 4,
        "html_theme": "sphinx_book_theme",
        "html_theme_options": {
            "use_download_button": False,
            "use_fullscreen_button": False,
            # With a header the button for the contents on a narrow screen would belong to the header, and do nothing here.
            "navbar_start": [],
            "navbar_center": [],
            "navbar_end": [],
            "navbar_persistent": [],
            "home_page_in_toc": True,
            "footer_content_items": ["extra-footer.html"],
            "extra_footer": "",
            "show_toc_level": 2,
            "search_bar_text": "Search the course",
            "pygments_light_style": "a11y-high-contrast-light",
            "pygments_dark_style": "a11y-high-contrast-dark",
        },
        "html_context": {"default_mode": "auto"},
        "html_show_copyright": False,
        "html_show_sphinx": False,
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_search_summary": False,  # it would fetch pages, which browsers refuse to pages from a disk
        "html_use_index": False,
        "html_domain_indices": False,
        "html_static_path": [str(ASSETS), *map(str, static)],
        "html_css_files": [name for name in own if name.endswith(".css")],
        "html_js_files": [(name, {"defer": "defer"}) for name in own if name.endswith(".js")],
        "html_extra_path": [str(extra)],
        # Nothing from outside: MathJax and the widget manager are in assets/, on pages that need them.
        "mathjax_path": "mathjax/tex-chtml.js",
        mathjax: {
            "loader": {"load": ["a11y/assistive-mml"], "paths": {"mathjax-newcm": "[mathjax]/../newcm"}},
            "options": {
                "enableMenu": False,
                "enableExplorer": False,
                "enableSpeech": False,
                "enableBraille": False,
                "enableEnrichment": False,
                "enableComplexity": False,
                "enableAssistiveMml": True,
                # its menu sets the same once more from settings of its own
                "menuOptions": {"settings": {"enrich": False, "speech": False, "braille": False, "assistiveMml": True}},
            },
        },
        "nb_ipywidgets_js": {
            "requirejs/require.js": {},
            "htmlmanager/embed-amd.js": {"data-jupyter-widgets-cdn": "_static/htmlmanager/"},
        },
    }


def run(documents: Documents, output: Path, doctrees: Path, confoverrides: dict[str, Any]) -> None:
    """Builds HTML into ``output``.

    Raises:
        LabkitError: Sphinx warned of something or failed.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    warnings = io.StringIO()
    failure = ""
    status = 1
    try:
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                documents.folder,
                confdir=None,
                outdir=output,
                doctreedir=doctrees,
                buildername="html",
                confoverrides=confoverrides,
                status=None,
                warning=warnings,
                freshenv=True,
                warningiserror=True,
            )
            app.build(force_all=True)
            status = app.statuscode
    except Exception as error:  # of any extension or theme: what it says is told as its sentence
        failure = f"{type(error).__name__}: {error}"
    if status or failure:
        told = re.sub(r"\x1b\[[0-9;]*m", "", warnings.getvalue()).replace(f"{documents.folder}/", "").strip()
        if "No space left on device" in told + failure:
            raise LabkitError(
                "The disk is full, so no site was made.", "free some space, or choose another disk with -o."
            )
        lines = [line for line in [*told.splitlines(), failure] if line][:12]
        raise LabkitError(
            "Sphinx finds something wrong with the pages:\n  " + "\n  ".join(lines), "mend the page that it names."
        )
