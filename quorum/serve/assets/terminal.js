// Opens the terminal once its font is there, because it measures the letters when it opens: with those of another
// font it would have lines below the end of the page. Then it gets the focus, so that keys reach it without a click.
"use strict";
const openTerminal = window.onload;
window.onload = async (event) => {
  await document.fonts.load('15px "Roboto Mono"').catch(() => {}); // without it the next font of the list counts
  openTerminal(event);
  const keys = document.querySelector(".xterm-helper-textarea");
  if (keys) keys.focus();
};
