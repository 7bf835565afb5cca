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
