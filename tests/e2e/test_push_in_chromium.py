"""The worker of our page in a real browser: it shows a message that a decision waits, and a click opens it.

No push service is asked: Chromium hands over what one would have passed on.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.application.review.pushing import PushMessage
from quorum.infrastructure.web_push.sending import encode_message
from quorum.serve.sites import build_approvals_site
from tests.support.chromium import CHROMIUM, Tab, chromium
from tests.support.served_site import ServedSite, serving

LINK = "https://quorum.example.com/?decision=5f"
MESSAGE = PushMessage(digest="5f" * 32, session_id="s", tool="run_command", folder="shop", waiting=2)
# Each message as the worker has it shown. The messages that are on the screen are asked for only after it:
# Chromium forgets one that is asked for before the screen has it.
LISTEN = """
self.said = [];
const show = self.registration.showNotification;
self.registration.showNotification = async function (title, options) {
  await show.call(this, title, options);
  self.said.push([title, options.body, options.tag, options.data.link]);
};
"""
CLICK = """
clients.openWindow = (link) => { self.opened = link; return Promise.resolve(); };
self.registration.getNotifications().then(([notification]) => {
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  return self.registration.getNotifications();
}).then((left) => [self.opened, left.length])
"""


async def permit(tab: Tab, site: ServedSite) -> str:
    """Let the page show messages, and press its button: it registers its worker; the name of that."""
    await tab.command("Browser.grantPermissions", origin=site.origin, permissions=["notifications"])
    await tab.go(f"{site.origin}/approvals/notify")
    await tab.shows("document.getElementById('subscribe') && document.readyState === 'complete'")
    await tab.evaluate("document.getElementById('subscribe').click()")
    await tab.shows("navigator.serviceWorker.ready.then((found) => found.active.state === 'activated')")
    await tab.command("ServiceWorker.enable")
    (found,) = (await tab.hear("ServiceWorker.workerRegistrationUpdated"))["registrations"]
    assert found["scopeURL"] == f"{site.origin}/"
    return str(found["registrationId"])


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")
async def test_a_message_is_shown_and_its_click_opens_the_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site_of_reviews = build_approvals_site(tmp_path / "socket", None, "http://quorum.localhost")
    async with serving(site_of_reviews) as site, chromium(tmp_path / "profile") as browser:
        tab = await browser.open(f"{site.origin}/enter?token={site.token}")
        await tab.read("Pending reviews")
        registration = await permit(tab, site)

        worker = await browser.attach_to_worker()
        await worker.evaluate(LISTEN)
        for number, data in enumerate(("no JSON", encode_message(MESSAGE, LINK).decode()), 1):
            await tab.command(
                "ServiceWorker.deliverPushMessage",
                origin=site.origin,
                registrationId=registration,
                data=data,
            )
            said = await worker.shows(f"self.said.length === {number} && self.said")
        await worker.evaluate(
            "self.registration.getNotifications({ tag: 'decision' }).then(([first]) => first.close())"
        )
        clicked = await worker.evaluate(CLICK)
        told = await tab.evaluate("document.getElementById('said').textContent")

    assert said == [
        ["quorum", "A decision waits for your answer.", "decision", "/approvals"],
        ["quorum", MESSAGE.text, MESSAGE.digest, LINK],
    ]
    assert clicked == [LINK, 0]
    assert "no active Service Worker" not in told  # the page waits for the worker before it subscribes


def test_a_message_names_the_tool_the_folder_and_the_digest_and_nothing_else() -> None:
    assert json.loads(encode_message(MESSAGE, LINK)) == {
        "title": "quorum",
        "text": f"run in shop waits for your answer, and 1 more ({'5f' * 8}).",
        "tag": MESSAGE.digest,
        "link": LINK,
    }
