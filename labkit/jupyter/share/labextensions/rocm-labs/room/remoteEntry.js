// The container that JupyterLab loads: hands the shared modules to ./plugins.js. Written by hand; there is no build step.
// This folder is not called "static": JupyterLab tells browsers to keep what is in such a folder for a year.
(() => {
  const here = document.currentScript.src;
  let shared = null;
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB['rocm-labs'] = {
    init(scope) {
      shared = scope;
    },
    async get(name) {
      if (name !== './extension') throw new Error(`rocm-labs has no module ${name}`);
      const { plugins } = await import(new URL('./plugins.js', here).href);
      const made = await plugins(shared, new URL('./', here).href);
      return () => made;
    }
  };
})();
