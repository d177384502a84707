'use strict';
// What a live page does beyond the report's script: takes each new drawing and becomes the report at the end.
(() => {
  const GIVE_UP_MS = 15000;
  const style = document.createElement('style');
  style.textContent = `
    .live-bar { position: sticky; top: 0; z-index: 5; display: flex; gap: .75rem; align-items: baseline; margin: 0;
      padding: .4rem 1rem; font-size: .875rem; background: var(--card); border-bottom: 1px solid var(--edge); }
    .live-bar b::before { content: '●'; margin-right: .35em; }
    .live-bar[data-is=live] b { color: var(--good); }
    .live-bar[data-is=lost] b, .live-bar[data-is=gone] b { color: var(--bad); }
    .live-bar button, .live-bar a { margin-left: auto; font: inherit; color: var(--ink); padding: .1rem .6rem;
      background: var(--tint); border: 1px solid var(--edge); border-radius: 4px; text-decoration: none; cursor: pointer; }
    @media print { .live-bar { display: none; } }`;
  document.head.append(style);
  const make = (tag, parent) => parent.appendChild(document.createElement(tag));
  const bar = document.createElement('div');
  bar.className = 'live-bar';
  const [lamp, said, pause] = ['b', 'span', 'button'].map(tag => make(tag, bar));
  said.setAttribute('role', 'status');
  pause.type = 'button';
  pause.textContent = 'Pause';
  document.body.prepend(bar);
  // The address may be seen by others; from here on the cookie will do.
  if (location.search) history.replaceState(null, '', location.pathname);

  // Charts first: what holds need not be read again each second.
  document.querySelectorAll('.verdict details[open] > summary').forEach(summary => summary.click());

  let next = null;
  let paused = false;
  let busy = false;
  let lost = 0;

  const say = (word, text = '') => {
    bar.dataset.is = word;
    if (lamp.textContent !== word) lamp.textContent = word;
    if (said.textContent !== text) said.textContent = text;
  };
  // The newest drawing, unless its reader holds the picture still or is marking a stretch of it.
  const settle = () => {
    if (next === null || paused || busy || document.hidden) return;
    tare.swap(next);
    next = null;
  };
  const toggle = () => {
    paused = !paused;
    pause.textContent = paused ? 'Go on' : 'Pause';
    say(paused ? 'paused' : 'live', paused ? 'the run goes on, the picture stands' : '');
    settle();
  };
  pause.addEventListener('click', toggle);
  document.addEventListener('visibilitychange', settle);
  document.addEventListener('pointerdown', () => { busy = true; });
  for (const end of ['pointerup', 'pointercancel']) {
    document.addEventListener(end, () => { busy = false; setTimeout(settle); });
  }

  const become = async () => {
    try {
      const answer = await fetch('.', { credentials: 'same-origin' });
      if (!answer.ok) throw new Error(answer.status);
      const text = await answer.text();
      const report = new DOMParser().parseFromString(text, 'text/html');
      document.title = report.title;
      tare.swap(report.querySelector('main').innerHTML);
      say('ended', 'this is the report');
      const save = document.createElement('a');
      save.textContent = 'Save it';
      save.download = 'report.html';
      save.href = URL.createObjectURL(new Blob([text], { type: 'text/html' }));
      pause.replaceWith(save);
    } catch {
      pause.remove();
      say('gone', 'the run has ended; its report is in the run folder, this is the last picture of it');
    }
  };

  const source = new EventSource('events');
  source.addEventListener('update', event => {
    lost = 0;
    if (!paused) say('live');
    next = event.data;
    settle();
  });
  source.addEventListener('end', () => {
    source.close();
    next = null;
    if (!paused) {
      become();
      return;
    }
    say('ended', 'the picture stands');
    pause.textContent = 'Show the report';
    pause.removeEventListener('click', toggle);
    pause.addEventListener('click', become, { once: true });
  });
  source.addEventListener('error', () => {
    lost ||= Date.now();
    const gone = source.readyState === EventSource.CLOSED || Date.now() - lost > GIVE_UP_MS;
    if (!gone) {
      say('lost', 'no connection; trying again');
      return;
    }
    source.close();
    pause.remove();
    say('gone', 'the run has ended, or tare is gone: this is the last picture');
  });
  say('live');
})();
