// Shows messages that a decision waits, also while no page is open.
"use strict";

self.addEventListener("push", (event) => {
  let told = {};
  try {
    told = event.data.json();
  } catch {
    // a message that cannot be read still says that something waits
  }
  const shown = self.registration.showNotification(String(told.title || "quorum"), {
    body: String(told.text || "A decision waits for your answer."),
    tag: String(told.tag || "decision"),
    data: { link: String(told.link || "/approvals") },
  });
  event.waitUntil(shown);
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.link));
});
