// What scrolls sideways can be reached and moved by keyboard: it gets a place in the order of Tab, and only then.
"use strict";

function reachable() {
  for (const place of document.querySelectorAll(".bd-article pre, .bd-article .text_html, .pst-scrollable-table-container")) {
    const scrolls = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight + 1;
    if (scrolls) {
      place.tabIndex = 0;
      place.classList.add("labkit-scrolls");
    } else if (place.classList.contains("labkit-scrolls")) {
      place.removeAttribute("tabindex");
      place.classList.remove("labkit-scrolls");
    }
  }
}

window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true); // words under a figure that were opened

// The theme's buttons that open a part of the contents have no name.
for (const button of document.querySelectorAll("nav.bd-links summary:not([aria-label])")) {
  const link = button.closest("li")?.querySelector("a");
  button.setAttribute("aria-label", `Pages under ${link ? link.textContent.trim() : "it"}`);
}

// The widget manager asks for MathJax 2 where it sees a MathJax; ours is 4 and needs no asking.
document.addEventListener("DOMContentLoaded", () => {
  if (window.MathJax && !window.MathJax.Hub) window.MathJax.Hub = { Queue() {} };
});

// The handles of the widget manager's sliders have no name for a screen reader: they get the label beside them.
function nameSliders() {
  for (const handle of document.querySelectorAll(".noUi-handle:not([aria-label])")) {
    const label = handle.closest(".jupyter-widgets")?.querySelector(".widget-label");
    handle.setAttribute("aria-label", label?.textContent.trim() || "slider");
  }
}
if (document.querySelector('script[type="application/vnd.jupyter.widget-view+json"]')) {
  new MutationObserver(nameSliders).observe(document.body, { childList: true, subtree: true });
}
