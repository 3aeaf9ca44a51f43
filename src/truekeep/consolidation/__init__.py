"""Consolidation: what is remembered more than once becomes one memory. Nobody acts who did not, and nobody stops.

Only kin are merged (``influence.duplicates``), and of those only what nothing else refers to by name: what a tool call
used, an outcome proved, a person is asked about, or another memory was derived from stays as it is. So an owner's
memory is never merged with hearsay, two systems that agree stay two witnesses, and copies from three sources stay what
they were, hearsay. Every merge is checked in its own transaction against what was there before: for every reader, it
and its rivals may do exactly what they could; otherwise it is not done. The originals go to history as the parents of
what stands for them; a run is an incident, which ``undo`` takes back.
"""
