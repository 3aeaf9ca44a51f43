"""The shape of mem0: ``from truekeep.adapters.mem0 import Memory`` in the place of ``from mem0 import Memory``.

Who speaks is decided when the ``Memory`` is made, and by nothing else. ``Memory(owner_speaks=True)`` is for the host of
the user's own conversation: what has the role "user" is the owner's word then, kept verbatim, and may act. Without it
the same messages are hearsay: anybody could have written them, whatever a role, a parameter or the text says. What has
the role "assistant" is the agent's output; anything else is foreign. No model reads or rewrites what is kept.
"""

from truekeep.adapters.mem0.aio import AsyncMemory
from truekeep.adapters.mem0.memory import Mem0Memory as Memory

__all__ = ["AsyncMemory", "Memory"]
