// Reset of a lesson: asks, saves what is open, lets the server move it aside, and shows the published lesson in the open tab.

import { h } from './dom.js';
import { ask } from './server.js';

/** The open documents of a file, whatever editor shows it: [{context, panel}]. */
function opened(app, file) {
  return Array.from(app.shell.widgets('main'))
    .filter(widget => widget.context && widget.context.path === file)
    .map(panel => ({ context: panel.context, panel }));
}

/** Asks first. Returns the server's answer, or null where the learner thought better of it. Problems are shown here. */
export async function resetLesson(app, lib, lesson) {
  const { Dialog, showDialog, showErrorMessage, Notification } = lib.apputils;
  const { Widget } = lib.widgets;
  const body = new Widget({ node: question(lesson, opened(app, lesson.file).length > 0) });
  const answer = await showDialog({
    title: `Reset lesson ${lesson.id}, ${lesson.title}?`,
    body,
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Reset lesson' })],
    defaultButton: 0
  });
  if (!answer.button.accept) return null;
  try {
    const documents = opened(app, lesson.file);
    for (const { context } of documents) {
      await context.ready;
      if (context.model.dirty) await context.save();
      if (context.model.dirty) throw new Error('Your last changes could not be saved, so nothing was reset.');
    }
    const found = await ask(lib, 'reset', { lesson: lesson.id });
    for (const context of new Set(documents.map(one => one.context))) await context.revert();
    let restarted = false;
    for (const { panel } of documents) {
      if (panel.sessionContext?.session?.kernel) {
        await panel.sessionContext.restartKernel();
        restarted = true;
      }
    }
    const words = restarted ? `${found.words} Its kernel was restarted.` : found.words;
    Notification.success(words, {
      autoClose: 12000,
      actions: found.kept
        ? [{ label: 'Open my copy', callback: () => void app.commands.execute('docmanager:open', { path: found.kept }) }]
        : []
    });
    return { ...found, words };
  } catch (problem) {
    await showErrorMessage(`Lesson ${lesson.id} was not reset`, [problem.message, problem.remedy].filter(Boolean).join('\n\n'));
    return null;
  }
}

function question(lesson, isOpen) {
  const name = lesson.file.split('/').pop().replace(/\.ipynb$/, '');
  return h(
    'div',
    { class: 'rl-question' },
    h('p', {}, 'You begin this lesson again from the published notebook.'),
    h(
      'ul',
      {},
      h('li', {}, 'Your notebook is kept beside it, as ', h('code', {}, `${name}.mine-(date and time).ipynb`), '.'),
      h('li', {}, 'What you have passed stays passed.'),
      isOpen && h('li', {}, 'The open notebook is saved first. Its kernel is restarted: what is in its memory is lost.')
    )
  );
}
