// Gives the terminal the focus as soon as it is there, so that keys reach it without a click.
"use strict";
window.addEventListener("load", () => {
  const keys = document.querySelector(".xterm-helper-textarea");
  if (keys) keys.focus();
});
