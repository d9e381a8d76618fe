// What the course adds to JupyterLab: a start page, a device gauge and a reset. In Notebook 7 there is no start page of its own
// accord, and no status bar; the commands are there.

import { Clock, gaugePage, statusItem } from './gauge.js';
import { resetLesson } from './reset.js';
import { ask } from './server.js';
import { startPage } from './start_page.js';

const CATEGORY = 'ROCm Labs';
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161" d="M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM11 9h1v2h2v1h-2v2h-1v-2H9v-1h2z"/></svg>';
const NARROW = 700; // pixels: a window in which JupyterLab's side bar would leave no room

/** One of JupyterLab's own modules, from the scope that it shares. */
async function shared(scope, name) {
  const versions = Object.values(scope[name] || {});
  if (!versions.length) throw new Error(`This Jupyter application shares no ${name}.`);
  const chosen = versions.find(version => version.loaded) || versions[0];
  return (await chosen.get())();
}

function styled(base) {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = new URL('./style.css', base).href;
  document.head.append(link);
}

export async function plugins(scope, base) {
  const names = {
    widgets: '@lumino/widgets',
    application: '@jupyterlab/application',
    apputils: '@jupyterlab/apputils',
    coreutils: '@jupyterlab/coreutils',
    services: '@jupyterlab/services',
    ui: '@jupyterlab/ui-components',
    launcher: '@jupyterlab/launcher',
    statusbar: '@jupyterlab/statusbar'
  };
  const found = await Promise.all(Object.entries(names).map(async ([key, name]) => [key, await shared(scope, name)]));
  const lib = Object.fromEntries(found);
  styled(base);
  const icon = new lib.ui.LabIcon({ name: 'rocm-labs:icon', svgstr: ICON });
  const clock = new Clock(lib);
  return [start(lib, icon), gauge(lib, icon, clock), reset(lib)];
}

// A page of the room as a command, in the palette and on the launcher, and back after a reload; gives the command's id.
function offer(app, lib, { restorer, palette, launcher }, { name, Page, label, caption, title, titleCaption = '', icon, rank }) {
  const command = `rocm-labs:${name}`;
  const tracker = new lib.apputils.WidgetTracker({ namespace: `rocm-labs-${name}` });
  let page = null;
  app.commands.addCommand(command, {
    label,
    caption,
    icon,
    execute: ({ activate = true } = {}) => {
      if (!page || page.isDisposed) {
        page = new Page();
        page.id = `rocm-labs-${name}`;
        page.title.label = title;
        page.title.caption = titleCaption;
        page.title.icon = icon;
        page.title.closable = true;
      }
      if (!page.isAttached) app.shell.add(page, 'main', { activate: false });
      if (!tracker.has(page)) void tracker.add(page);
      if (activate) app.shell.activateById(page.id);
    }
  });
  palette?.addItem({ command, category: CATEGORY });
  launcher?.add({ command, category: CATEGORY, rank });
  if (restorer) void restorer.restore(tracker, { command, args: () => ({ activate: false }), name: () => name });
  return command;
}

function start(lib, icon) {
  const { ILabShell, ILayoutRestorer } = lib.application;
  const { ICommandPalette } = lib.apputils;
  return {
    id: 'rocm-labs:start',
    description: 'The start page of the course: lessons with minutes and progress.',
    autoStart: true,
    optional: [ILabShell, ILayoutRestorer, ICommandPalette, lib.launcher.ILauncher],
    activate: (app, labShell, restorer, palette, launcher) => {
      const command = offer(app, lib, { restorer, palette, launcher }, {
        name: 'start',
        Page: startPage(app, lib),
        label: 'ROCm Labs: lessons',
        caption: 'The lessons of the course, your progress, and what to do next',
        title: 'ROCm Labs',
        titleCaption: 'The lessons of the course',
        icon,
        rank: 0
      });
      if (!labShell) return; // only JupyterLab has room for it beside a notebook
      // In front when somebody comes in; not when the page is loaded again in the middle of a lesson, and not before the
      // notebook that an address names.
      const named = lib.coreutils.PageConfig.getOption('treePath') !== '';
      const key = `rocm-labs:seen:${lib.coreutils.PageConfig.getBaseUrl()}`;
      void app.restored.then(async () => {
        let seen = false;
        try {
          seen = sessionStorage.getItem(key) !== null;
          sessionStorage.setItem(key, '1');
        } catch {
          // a browser that keeps nothing: the start page comes each time
        }
        if (seen) return;
        if (window.innerWidth < NARROW) labShell.collapseLeft();
        await app.commands.execute(command, { activate: !named });
      });
    }
  };
}

function gauge(lib, icon, clock) {
  const { ILayoutRestorer } = lib.application;
  const { ICommandPalette } = lib.apputils;
  return {
    id: 'rocm-labs:gauge',
    description: 'What the devices do now: in the status bar, and large for a projector.',
    autoStart: true,
    optional: [ILayoutRestorer, ICommandPalette, lib.launcher.ILauncher, lib.statusbar.IStatusBar],
    activate: (app, restorer, palette, launcher, statusBar) => {
      offer(app, lib, { restorer, palette, launcher }, {
        name: 'gauge',
        Page: gaugePage(lib, clock),
        label: 'Device gauge',
        caption: 'Use, memory, power and temperature of the devices, large enough to project',
        title: 'Device gauge',
        icon,
        rank: 1
      });
      statusBar?.registerStatusItem('rocm-labs:gauge', { item: statusItem(app, lib, clock), align: 'middle', rank: 10 });
    }
  };
}

function reset(lib) {
  const { ICommandPalette } = lib.apputils;
  return {
    id: 'rocm-labs:reset',
    description: 'A button on each lesson that puts the published notebook back and keeps the learner’s.',
    autoStart: true,
    optional: [ICommandPalette],
    activate: (app, palette) => {
      const command = 'rocm-labs:reset';
      const current = () => app.shell.currentWidget?.context?.path;
      const files = new Set();
      const lessonOf = async path => {
        const found = await ask(lib, 'lessons');
        for (const lesson of found.lessons) files.add(lesson.file);
        return found.lessons.find(lesson => lesson.file === path) || null;
      };
      app.commands.addCommand(command, {
        label: 'Reset lesson …',
        caption: 'Puts the published lesson back; your notebook is kept beside it',
        isEnabled: () => files.has(current()),
        execute: async () => {
          const lesson = await lessonOf(current());
          if (lesson) await resetLesson(app, lib, lesson);
        }
      });
      palette?.addItem({ command, category: CATEGORY });
      app.docRegistry.addWidgetExtension('Notebook', {
        createNew: (panel, context) => {
          void (async () => {
            try {
              await context.ready;
              if (panel.isDisposed || !(await lessonOf(context.path))) return;
            } catch {
              return; // without the server's half there is nothing to reset with
            }
            const button = new lib.ui.ToolbarButton({
              label: 'Reset lesson',
              tooltip: 'Puts the published lesson back; your notebook is kept beside it',
              onClick: async () => {
                const lesson = await lessonOf(context.path).catch(() => null);
                if (lesson) await resetLesson(app, lib, lesson);
                else await lib.apputils.showErrorMessage('Reset lesson', 'The list of lessons could not be read.');
              }
            });
            panel.toolbar.insertItem(11, 'rocm-labs-reset', button);
            app.commands.notifyCommandChanged(command);
          })();
        }
      });
      app.shell.currentChanged?.connect(() => app.commands.notifyCommandChanged(command));
    }
  };
}
