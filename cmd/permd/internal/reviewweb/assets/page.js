"use strict";
// Says when the command behind the page has ended. The page asks again by itself.
(() => {
  const ended = (is) => {
    const line = document.getElementById("ended");
    if (line && line.hidden === is) line.hidden = !is;
  };
  document.addEventListener("htmx:sendError", () => ended(true));
  document.addEventListener("htmx:timeout", () => ended(true));
  document.addEventListener("htmx:responseError", () => ended(true));
  document.addEventListener("htmx:afterOnLoad", () => ended(false));
})();

// A question that ends lets those below it move up. A press that was meant for it must not answer
// another one, so a button that has just come to its place does nothing for half a second.
(() => {
  const settle = 500; // milliseconds
  const places = new WeakMap();
  const look = () => {
    const now = performance.now(), height = document.documentElement.scrollHeight;
    for (const button of document.querySelectorAll(".buttons button")) {
      // To the pixel: scrolling leaves fractions of it.
      const at = button.getBoundingClientRect(), x = Math.round(at.left + scrollX), y = Math.round(at.top + scrollY);
      const place = places.get(button);
      if (!place || place.x !== x || place.y !== y || place.height !== height) places.set(button, { x, y, height, since: now });
      const moved = now - places.get(button).since < settle;
      button.classList.toggle("moved", moved);
      button.classList.toggle("settled", !moved);
    }
  };
  setInterval(look, 100);
  document.addEventListener("DOMContentLoaded", look);
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".buttons button");
    if (!button) return;
    look(); // it may have moved since
    if (button.classList.contains("moved")) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
})();
