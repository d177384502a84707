// What the live page does beyond the report's own script: takes each new drawing, keeps what the reader has opened, and
// turns into the report at the end.
"use strict";
(() => {
  const SECONDS_TO_GIVE_UP = 15;
  const bar = document.createElement("p");
  bar.className = "live-bar";
  bar.innerHTML = "<b></b> <span role=status></span> <button type=button aria-pressed=false>Pause</button>";
  const [lamp, said, pause] = [bar.querySelector("b"), bar.querySelector("span"), bar.querySelector("button")];
  document.body.prepend(bar);
  // The address may be shown to others; from here on the cookie does.
  if (location.search) history.replaceState(null, "", location.pathname);

  let waiting = null; // the newest drawing, while none is to be shown
  let paused = false;
  let lost = 0; // since when, in ms; 0: connected

  const say = (word, text) => {
    if (lamp.textContent !== word) lamp.textContent = word;
    if (said.textContent !== text) said.textContent = text;
    bar.dataset.state = word;
  };

  // What a reader opened, by its place among its like, and where tables were scrolled to.
  const all = (what) => Array.from(document.querySelectorAll("main " + what));
  const remember = () => ({
    open: all("details").map((it) => it.open),
    left: all(".scroll").map((it) => it.scrollLeft),
    focus: all("button, summary, [tabindex]").indexOf(document.activeElement),
  });
  const restore = (known) => {
    all("details").forEach((it, n) => { if (n < known.open.length) it.open = known.open[n]; });
    all(".scroll").forEach((it, n) => { if (known.left[n]) it.scrollLeft = known.left[n]; });
    if (known.focus >= 0) all("button, summary, [tabindex]")[known.focus]?.focus({ preventScroll: true });
  };

  const show = (html) => {
    const known = remember();
    document.dispatchEvent(new Event("tare:before"));
    document.querySelector("main").innerHTML = html;
    restore(known);
    document.dispatchEvent(new Event("tare:after"));
  };
  const settle = () => {
    if (waiting === null || paused || document.hidden) return;
    show(waiting);
    waiting = null;
  };
  const toggle = () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    say(paused ? "paused" : "live", paused ? "the run goes on, the picture stands" : "");
    settle();
  };
  pause.addEventListener("click", toggle);
  document.addEventListener("visibilitychange", settle);

  const become = async () => {
    try {
      const answer = await fetch(location.pathname, { credentials: "same-origin" });
      const report = await answer.text();
      document.open();
      document.write(report);
      document.close();
    } catch {
      say("ended", "the run has ended and its page is gone: the report is in the run folder; this is the last picture");
    }
  };

  const source = new EventSource("events");
  source.addEventListener("update", (event) => {
    lost = 0;
    if (!paused) say("live", "");
    waiting = event.data;
    settle();
  });
  source.addEventListener("end", () => {
    source.close();
    if (paused) {
      say("ended", "the run has ended");
      pause.textContent = "Show the report";
      pause.removeEventListener("click", toggle);
      pause.addEventListener("click", become);
    } else {
      become();
    }
  });
  source.addEventListener("error", () => {
    lost ||= Date.now();
    const gone = source.readyState === EventSource.CLOSED || Date.now() - lost > SECONDS_TO_GIVE_UP * 1000;
    if (gone) source.close();
    say(gone ? "gone" : "lost", gone
      ? "the run has ended, or tare is gone: this is the last picture"
      : "no connection; trying again");
  });
  say("live", "");
})();
