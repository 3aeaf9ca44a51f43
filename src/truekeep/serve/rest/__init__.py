"""REST: one router a resource. Paths and bodies of memory resources are those of the Agent Memory Server."""

from truekeep.serve.rest import (
    actions,
    audit,
    channels,
    custody,
    forgetting,
    health,
    incidents,
    long_term,
    memories,
    prompt,
    prompts,
    review,
    scan,
    search,
    session_memory,
    sessions,
    upkeep,
    working,
)

ROUTERS = (
    health.router,
    search.router,
    upkeep.router,
    long_term.router,
    memories.router,
    working.router,
    prompt.router,
    sessions.router,
    session_memory.router,
    prompts.router,
    custody.router,
    scan.router,
    actions.router,
    review.router,
    audit.router,
    forgetting.router,
    incidents.router,
    channels.router,
)
"""In the order in which they are asked, so that fixed paths go before those with an id in them."""
