// The start page: what to do next, and all lessons with minutes, level and progress.

import { h, show } from './dom.js';
import { ask } from './server.js';
import { resetLesson } from './reset.js';

const EVERY_MS = 20000; // while it is in view: an exercise may be passed in a tab beside it
const COPY = {
  'as published': '',
  run: 'You have run this lesson.',
  edited: 'You have changed this notebook.',
  missing: 'The notebook is missing; a reset puts it back.',
  unknown: ''
};

/** The widget's class, made from JupyterLab's own modules. */
export function startPage(app, lib) {
  const { Widget } = lib.widgets;

  return class StartPage extends Widget {
    constructor() {
      super();
      this.addClass('rl-page');
      this.addClass('rl-start');
      this.node.tabIndex = -1;
      this._text = '';
      this._timer = 0;
      this._asked = 0;
      this._main = h('div', { class: 'rl-inner' }, h('p', {}, 'The lessons are being read …'));
      this._told = h('p', { class: 'rl-told', role: 'status' });
      this.node.append(this._told, this._main);
      this._wake = () => void this.refresh();
      document.addEventListener('visibilitychange', this._wake);
    }

    dispose() {
      document.removeEventListener('visibilitychange', this._wake);
      clearTimeout(this._timer);
      super.dispose();
    }

    onAfterShow() {
      void this.refresh();
    }

    onAfterAttach() {
      void this.refresh();
    }

    onActivateRequest() {
      const active = document.activeElement;
      if (active !== this.node && this.node.contains(active)) return;
      (this._main.querySelector('[data-key="next"]') || this.node).focus({ preventScroll: true });
    }

    async refresh() {
      clearTimeout(this._timer);
      if (this.isDisposed || !this.isVisible || document.hidden) return;
      const asked = ++this._asked;
      try {
        const found = await ask(lib, 'lessons');
        if (this.isDisposed || asked !== this._asked) return;
        const text = JSON.stringify(found);
        if (text !== this._text) {
          const first = this._text === '';
          this._text = text;
          show(this._main, ...this.drawn(found));
          if (first && document.activeElement === this.node) this.onActivateRequest();
        }
      } catch (problem) {
        if (this.isDisposed || asked !== this._asked) return;
        this._text = ' ';
        show(
          this._main,
          h('h1', {}, 'ROCm Labs'),
          h('p', { role: 'alert' }, problem.message, ' ', problem.remedy || ''),
          h('button', { class: 'rl-button', 'data-key': 'again', onclick: () => void this.refresh() }, 'Try again')
        );
      }
      clearTimeout(this._timer);
      this._timer = setTimeout(this._wake, EVERY_MS);
    }

    open(lesson) {
      void app.commands.execute('docmanager:open', { path: lesson.file });
    }

    async reset(lesson, button) {
      const found = await resetLesson(app, lib, lesson);
      button.focus();
      if (!found) return;
      this._told.textContent = found.words;
      await this.refresh();
    }

    drawn(found) {
      const next = found.next && found.lessons.find(lesson => lesson.id === found.next.lesson);
      const hours = (found.minutes / 60).toFixed(0);
      const fresh = !found.lessons.some(lesson => lesson.begun);
      return [
        h(
          'div',
          {},
          h('h1', {}, found.course),
          h(
            'p',
            {},
            fresh
              ? `PyTorch on AMD GPUs, in ${found.lessons.length} lessons: about ${hours} hours with reading and exercises. ` +
                'No AMD GPU is needed; without one the lessons run on the processor.'
              : `${found.passed} of ${found.of} exercises and quizzes passed.`
          )
        ),
        found.note && h('p', { class: 'rl-note' }, found.note),
        h('section', { class: 'rl-next', 'aria-label': 'What to do next' }, next ? this.nextStep(found.next, next, fresh) : this.allDone()),
        h('h2', { id: 'rl-lessons-head' }, 'Lessons'),
        h('ol', { class: 'rl-lessons', 'aria-labelledby': 'rl-lessons-head' }, found.lessons.map(one => this.row(one, found))),
        found.no_reset && h('p', { class: 'rl-note' }, `Lessons cannot be reset here. ${found.no_reset}`),
        h(
          'p',
          { class: 'rl-foot' },
          h(
            'button',
            { class: 'rl-button', 'data-key': 'gauge', onclick: () => void app.commands.execute('rocm-labs:gauge') },
            'Device gauge'
          ),
          ' What the GPU or the processor of this machine does now, large enough to project.'
        )
      ].filter(Boolean);
    }

    nextStep(words, lesson, fresh) {
      return [
        h(
          'button',
          { class: 'rl-button rl-primary', 'data-key': 'next', onclick: () => this.open(lesson) },
          `${words.words}`,
          h('span', { class: 'rl-small' }, `${lesson.title} · ${lesson.minutes} min`)
        ),
        h(
          'p',
          {},
          lesson.summary,
          fresh && ' A lesson is a notebook: read it from the top, and run each grey cell with Shift+Enter.'
        )
      ];
    }

    allDone() {
      return h('p', {}, h('strong', {}, 'All lessons are done.'), ' Open any of them again, or reset one to practise.');
    }

    row(lesson, found) {
      const needs = lesson.needs.length ? `after lesson ${lesson.needs.join(' and ')}` : '';
      const canReset = !found.no_reset && lesson.copy !== 'as published';
      return h(
        'li',
        { class: lesson.done ? 'rl-lesson rl-done' : 'rl-lesson' },
        h('span', { class: 'rl-number', 'aria-hidden': 'true' }, lesson.id),
        h(
          'div',
          { class: 'rl-about' },
          h(
            'button',
            {
              class: 'rl-title',
              'data-key': `open-${lesson.id}`,
              'aria-describedby': `rl-facts-${lesson.id}`,
              'aria-label': `Open lesson ${lesson.id}, ${lesson.title}`,
              disabled: !lesson.exists,
              onclick: () => this.open(lesson)
            },
            lesson.title
          ),
          h('p', { class: 'rl-summary' }, lesson.summary),
          h(
            'p',
            { class: 'rl-facts', id: `rl-facts-${lesson.id}` },
            [`${lesson.minutes} min`, lesson.level, needs].filter(Boolean).join(' · '),
            COPY[lesson.copy] && h('span', { class: 'rl-copy' }, COPY[lesson.copy])
          )
        ),
        h(
          'div',
          { class: 'rl-state' },
          progress(lesson),
          canReset &&
            h(
              'button',
              {
                class: 'rl-button rl-reset',
                'data-key': `reset-${lesson.id}`,
                'aria-label': `Reset lesson ${lesson.id}, ${lesson.title}`,
                onclick: event => void this.reset(lesson, event.currentTarget)
              },
              'Reset …'
            )
        )
      );
    }
  };
}

/** A bar with its numbers in words; what has no exercises says whether it was begun. */
function progress(lesson) {
  if (!lesson.of) return h('p', { class: 'rl-count' }, lesson.begun ? '✓ begun' : 'no exercises');
  const parts = [
    ['exercises', lesson.exercises],
    ['quizzes', lesson.quizzes]
  ].filter(([, count]) => count.of);
  const words = parts.map(([name, count]) => `${count.passed} of ${count.of} ${name}`).join(', ');
  return [
    h(
      'div',
      {
        class: 'rl-bar',
        role: 'progressbar',
        'aria-label': `Progress of lesson ${lesson.id}`,
        'aria-valuemin': 0,
        'aria-valuemax': lesson.of,
        'aria-valuenow': lesson.passed,
        'aria-valuetext': words
      },
      h('div', { style: `width: ${(100 * lesson.passed) / lesson.of}%` })
    ),
    h('p', { class: 'rl-count' }, lesson.done && h('strong', {}, '✓ done'), ...words.split(', ').map(part => h('span', {}, part)))
  ];
}
