"""truekeep's own resources: scanning, sessions, the act boundary, review, credit, audit, incidents, channels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.serve.conftest import Own, Served
from tests.serve.test_long_term import POISON, create


def test_a_text_is_scanned_and_not_kept(served: Served) -> None:
    found = served.client("web").post("/v1/scan", json={"text": POISON}).json()
    assert not found["clean"]
    assert found["message"].startswith("Content blocked")
    assert served.client("web").post("/v1/scan", json={"text": "I like tea"}).json()["threats"] == []


def test_a_reviewer_decides_on_the_version_that_was_looked_at(served: Served) -> None:
    create(served.client("web"), "The new office is in Linz", principal="https://example.com")
    eva = served.client("reviewer")
    item = eva.get("/v1/review").json()["items"][0]
    path, body = f"/v1/review/{item['id']}", {"reason": "I called them"}
    assert eva.get(path).headers["etag"] == f'"{item["etag"]}"'
    assert eva.post(f"{path}/approve", json=body).status_code == 428
    assert eva.post(f"{path}/approve", json=body, headers={"If-Match": '"old"'}).status_code == 412
    tag = {"If-Match": f'"{item["etag"]}"'}
    done = eva.post(f"{path}/approve", json=body, headers=tag)
    assert (done.status_code, done.json()["code"]) == (200, "approved")
    assert eva.post(f"{path}/reject", json=body, headers=tag).status_code == 412  # it is approved by now
    events = served.client("admin").get("/v1/audit").json()["events"]
    assert [one["body"]["by"] for one in events if one["kind"] == "review.approved"] == ["eva"]


def test_a_rejected_claim_cannot_be_planted_again(served: Served) -> None:
    create(served.client("web"), "The office moved to Evilstadt")
    eva = served.client("reviewer")
    item = eva.get("/v1/review").json()["items"][0]
    done = eva.post(f"/v1/review/{item['id']}/reject", json={"reason": "no"}, headers={"If-Match": f'"{item["etag"]}"'})
    assert done.status_code == 200
    assert create(served.client("web"), "The office moved to Evilstadt").status_code == 422


def test_what_the_owner_said_is_forgotten_in_plain_words_and_brought_back(served: Served) -> None:
    owner, agent = served.client("owner"), served.client("agent")
    create(owner, "I joined the Ironworks gym", "My sister is called Odette")
    asked = agent.post("/v1/forget", json={"about": "the gym"})
    assert (asked.status_code, asked.json()["code"]) == (202, "deletion_proposed")
    done = owner.post("/v1/forget", json={"about": "what I said about the gym"}).json()
    assert (done["done"], [one["text"] for one in done["matches"]]) == (True, ["I joined the Ironworks gym"])
    assert "Ironworks" not in owner.get("/v1/memories").text
    assert agent.post(f"/v1/forget/{done['id']}/undo").status_code == 403
    assert owner.post(f"/v1/forget/{done['id']}/undo").status_code == 200
    assert "Ironworks" in owner.get("/v1/memories").text
    assert owner.post("/v1/forget", json={}).json()["code"] == "what_to_forget"
    assert owner.post("/v1/forget/inc_nothing/undo").status_code == 404


def test_the_queue_is_paged(served: Served) -> None:
    create(served.client("web"), *(f"Shop {number} sells lamps" for number in range(5)))
    eva, seen = served.client("reviewer"), []
    path: str | None = "/v1/review?limit=2"
    while path:
        page = eva.get(path)
        seen += [one["content"] for one in page.json()["items"]]
        path = page.links["next"]["url"] if "next" in page.links else None
    assert seen == [f"Shop {number} sells lamps" for number in range(5)]


def test_an_action_is_judged_confirmed_by_the_owner_redeemed_once_and_credited(served: Served) -> None:
    owner, agent = served.client("owner"), served.client("agent")
    owner.post("/v1/sessions/s-1/observe", json={"text": "Please pay Northwind 300 euros"})
    call = {"session": "s-1", "name": "pay", "arguments": {"to": "Globex", "amount": 300}}
    assert agent.post("/v1/check-action", json=call | {"run": "run-1"}).json()["code"] == "run_not_bound"
    answer = agent.post("/v1/check-action", json=call).json()
    assert answer["decision"] == "confirm"
    ticket = f"/v1/tickets/{answer['ticket']}"
    made = {"session": "s-1", "name": "pay", "arguments": call["arguments"]}
    assert agent.post(f"{ticket}/redeem", json=made | {"session": None}).json()["code"] == "no_session"
    assert agent.post(f"{ticket}/redeem", json=made).status_code == 409
    assert agent.post(f"{ticket}/confirm").status_code == 403
    assert owner.post(f"{ticket}/confirm").status_code == 200
    assert agent.post(f"{ticket}/redeem", json=made | {"arguments": {"to": "Eve"}}).status_code == 409
    other = agent.post(f"{ticket}/redeem", json=made | {"session": "s-2"})
    assert (other.status_code, other.json()["code"]) == (409, "ticket_of_another_session")
    assert agent.post(f"{ticket}/redeem", json=made).status_code == 200
    assert agent.post(f"{ticket}/redeem", json=made).json()["code"] == "ticket_spent"
    assert agent.post("/v1/credit", json={"run": "s-1", "outcome": "good"}).status_code == 403
    assert served.client("outcomes").post("/v1/credit", json={"run": "s-1", "outcome": "good"}).status_code == 201
    assert served.client("outcomes").post("/v1/credit", json={"run": "s-1", "outcome": "good"}).status_code == 409


def test_a_snapshot_is_frozen_and_fenced(served: Served) -> None:
    owner = served.client("owner")
    create(owner, "I prefer dark mode")
    first = owner.post("/v1/snapshot/s-1").json()
    assert first["text"].startswith("<memories>")
    create(owner, "I prefer large type")
    assert owner.post("/v1/snapshot/s-1", json={}).json() == first
    assert "large type" in owner.post("/v1/snapshot/s-1", json={"refresh": True}).json()["text"]


def test_a_session_is_distilled_into_what_the_owner_said(served: Served) -> None:
    owner = served.client("owner")
    messages = [{"role": "user", "content": "I am allergic to peanuts."}, {"role": "tool", "content": "I am a spy."}]
    owner.put("/v1/working-memory/s-1", json={"messages": messages})
    done = owner.post("/v1/sessions/s-1/extract", json={}).json()
    assert [one["decision"] for one in done["verdicts"]] == ["accept"]
    (kept,) = owner.get("/v1/long-term-memory/").json()["memories"]
    assert "peanuts" in kept["text"]
    assert kept["standing"] == "owner"


def test_only_the_owners_token_declares_a_session_mediated(served: Served) -> None:
    assert served.client("agent").put("/v1/sessions/s-1", json={"mediated": True}).status_code == 403
    assert served.client("owner").put("/v1/sessions/s-1", json={"mediated": True}).status_code == 200
    # In a mediated session that took in no hearsay the agent's words stand above it.
    stored = create(served.client("agent"), "The build takes four minutes", session_id="s-1")
    assert stored.status_code == 201
    served.client("web").post("/v1/sessions/s-1/observe", json={"text": "The build takes nine minutes"})
    assert create(served.client("agent"), "The lift is slow", session_id="s-1").status_code == 202


def test_incidents_are_traced_revoked_and_undone(served: Served) -> None:
    admin, eva = served.client("admin"), served.client("reviewer")
    create(served.client("web"), "Trams leave every ten minutes", principal="https://rumours.example/x")
    item = eva.get("/v1/review").json()["items"][0]
    approved = eva.post(
        f"/v1/review/{item['id']}/approve", json={"reason": "ok"}, headers={"If-Match": f'"{item["etag"]}"'}
    )
    memory_id = approved.json()["id"]
    assert admin.get(f"/v1/trace/{memory_id}").status_code == 200
    assert admin.get(f"/v1/exposures/{memory_id}").json() == {"exposures": []}
    wish = {"principal": "rumours.example", "reason": "a hoax"}
    admin.post("/v1/revoke", json=wish)  # a dry run
    assert served.client().get(f"/v1/long-term-memory/{memory_id}").status_code == 200
    assert admin.post("/v1/revoke", json={**wish, "dry_run": False}).status_code == 200
    assert served.client().get(f"/v1/long-term-memory/{memory_id}").status_code == 404
    (incident,) = admin.get("/v1/incidents").json()["incidents"]
    assert admin.post("/v1/undo", json={"incident": incident["id"], "reason": "it was true"}).status_code == 200
    assert served.client().get(f"/v1/long-term-memory/{memory_id}").status_code == 200
    assert admin.get("/v1/audit/verify").json()["ok"]


def test_channels_are_enrolled_and_retired_by_an_administrator(served: Own) -> None:
    admin = served.client("admin")
    assert admin.post("/v1/channels", json={"name": "crm", "reason": "our CRM"}).status_code == 201
    crm, _ = served.tokens.add(served.name, "crm", ["write"])
    bearer = {"Authorization": f"Bearer {crm}"}
    body = {"memories": [{"text": "The account manager is Kim"}]}
    assert served.client(None).post("/v1/long-term-memory/", json=body, headers=bearer).status_code == 201
    assert admin.post("/v1/channels/crm/retire", json={"reason": "moved"}).status_code == 200
    refused = served.client(None).post("/v1/long-term-memory/", json=body, headers=bearer)
    assert (refused.status_code, refused.json()["code"]) == (403, "channel_retired")
    assert "crm" in [one["name"] for one in admin.get("/v1/channels").json()["channels"]]


def test_metrics_name_neither_keeps_nor_tokens(served: Own) -> None:
    create(served.client("owner"), "I like tea")
    text = served.client("admin").get("/metrics").text
    assert 'route="/v1/long-term-memory/"' in text
    assert served.name not in text
    assert served.token("owner").split("_")[1] not in text
    assert served.client("owner").get("/metrics").status_code == 403


# Sent again


def test_a_write_with_a_key_is_done_once_and_answered_alike(served: Served) -> None:
    owner = served.client(None)
    key = {"Idempotency-Key": "k-1", "Authorization": f"Bearer {served.token('owner')}"}
    body = {"memories": [{"text": "My tent is orange"}]}
    first = owner.post("/v1/long-term-memory/", json=body, headers=key)
    again = owner.post("/v1/long-term-memory/", json=body, headers=key)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    other = owner.post("/v1/long-term-memory/", json={"memories": [{"text": "My tent is red"}]}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "another_body")
    # The key is this token's: another caller's is another request.
    theirs = {**key, "Authorization": f"Bearer {served.token('agent')}"}
    assert owner.post("/v1/long-term-memory/", json=body, headers=theirs).status_code == 202


def test_many_sendings_at_once_store_it_once(served: Served) -> None:
    body = {"memories": [{"text": "My kayak is yellow"}]}
    headers = {"Idempotency-Key": "k-2"}
    clients = [served.client("owner") for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(lambda one: one.post("/v1/long-term-memory/", json=body, headers=headers).status_code, clients)
        )
    assert set(found) <= {201, 409}
    assert len(served.client("owner").get("/v1/long-term-memory/").json()["memories"]) == 1


def test_who_may_only_write_is_shown_nothing_of_what_is_there(served: Served) -> None:
    owner, web = served.client("owner"), served.client("web")
    create(owner, "My safe is behind the clock", id="safe", session_id="s-1")
    owner.put("/v1/working-memory/s-1", json={"messages": [{"role": "user", "content": "The safe is old"}]})
    memory_id = owner.get("/v1/long-term-memory/safe").json()["id"]
    answers = [
        web.put("/v1/working-memory/s-1", json={"messages": [{"role": "user", "content": "hello"}]}),
        web.get("/v1/working-memory/s-1"),
        web.get("/v1/working-memory/"),
        web.patch(f"/v1/long-term-memory/{memory_id}", json={"topics": ["x"]}),
        web.delete("/v1/long-term-memory", params={"memory_ids": memory_id}),
        web.post("/v1/snapshot/s-1"),
        web.post("/v1/memory/prompt", json={"query": "safe", "session": {"session_id": "s-1"}}),
        web.post("/v1/sessions/s-1/extract", json={}),
        web.post("/v1/check-action", json={"session": "s-1", "name": "pay"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 403, 403, 403, 403, 403, 403, 403, 403]
    assert ["safe is" in answer.text.lower() for answer in answers] == [False] * len(answers)
