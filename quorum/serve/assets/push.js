// The button of /approvals/notify: subscribes this browser to messages that a decision waits.
"use strict";

const button = document.getElementById("subscribe");
const said = document.getElementById("said");

function decode(text) {
  const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(raw, (character) => character.charCodeAt(0));
}

async function subscribe() {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    throw new Error("this browser has no web push on this page; it needs https, or localhost");
  }
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("the browser does not permit notifications of this page");
  }
  await navigator.serviceWorker.register("/push-worker.js");
  const worker = await navigator.serviceWorker.ready; // one that is just being installed cannot subscribe
  const before = await worker.pushManager.getSubscription();
  if (before) await before.unsubscribe(); // it may be of another key
  const asked = worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: decode(button.dataset.key),
  });
  const patience = new Promise((_, fail) => {
    setTimeout(() => fail(new Error("the push service of this browser does not answer; try again")), 30000);
  });
  const made = await Promise.race([asked, patience]);
  const { endpoint, keys } = made.toJSON();
  const answer = await fetch("/approvals/notify", {
    method: "POST",
    body: new URLSearchParams({ csrf: button.dataset.csrf, endpoint, p256dh: keys.p256dh, auth: keys.auth }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

button.addEventListener("click", async () => {
  button.disabled = true;
  said.textContent = "The browser asks its push service…";
  try {
    await subscribe();
    said.textContent = "This browser is told.";
  } catch (error) {
    said.textContent = `It is not told: ${error.message}`;
    button.disabled = false;
  }
});
