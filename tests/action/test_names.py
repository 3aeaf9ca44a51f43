"""Which actions are consequential by their names, and that the operator's word counts before that."""

from __future__ import annotations

import pytest

from truekeep.action import ActionsSettings

from .world import World


@pytest.mark.parametrize(
    "name",
    [
        "pay",
        "PAY",
        "autoPay",
        "make_payment",
        "wire_transfer",
        "sendMail",
        "bulk-delete",
        "reexecute",
        "рay",
        "p_a_y",
        "publish_post",
        "grantAccess",
        "share.file",
        "approve_refund",
        "update_password",
        "updatePassword",
        "UPDATE_PASSWORD",
        "update-pаssword",
        "inviteUser",
        "post",
        "postWebpage",
        "reserve_hotel",
        "update_scheduled_transaction",
        "set.permissions",
    ],
)
def test_consequential_names_are_recognised(name: str) -> None:
    assert World().says("hello").answer(name, x="nowhere") == "confirm"


@pytest.mark.parametrize(
    "name",
    [
        "get_weather",
        "display_text",
        "decode_payload",
        "search",
        "read_mail",
        "list_senders",
        "getTransactions",
        "list_posts",
        "find_postal_code",
        "lookup_password_policy",
        "suggest_postcard",
    ],
)
def test_ordinary_names_are_not(name: str) -> None:
    assert World().says("hello").answer(name, x="nowhere") == "allow"


def test_the_operator_decides_what_is_consequential() -> None:
    settings = ActionsSettings.from_table({"order": {"consequential": True}, "send_ping": {"consequential": False}})
    assert World().answer("order", settings, item="nowhere") == "confirm"
    assert World().answer("ORDER", settings, item="nowhere") == "confirm"
    assert World().answer("send_ping", settings, item="nowhere") == "allow"
