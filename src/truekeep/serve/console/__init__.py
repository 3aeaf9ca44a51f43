"""The review console: pages on which a person looks at what was held back, and decides.

Server-rendered, no build step, nothing from elsewhere. What a page is made of:

- ``pages.py`` lists the pages. A page is a small module with a ``router`` (paths relative to ``/console``, those of a
  keep under ``/k/{keep}/…``) and an ``ENTRY`` for the navigation, and a template that extends ``base.html``.
- ``desk.py``: a path function takes ``desk: Seated`` (or ``Admin``, or ``Anybody`` who is signed in). The desk has
  ``open()`` for the keep, ``page(template, **context)`` for the answer, ``back_to(path)`` after a POST, ``path(…)`` for
  addresses inside the keep, and ``by``, the name under which whatever is decided is audited.
- ``form.py``: a POST takes ``form: Form`` and reads ``form.text("reason")``. That a POST came from this very origin was
  checked before any page saw it (``shell.py``), so no page can forget to.
- ``rendering.py``: templates have ``t("inbox.title")`` and ``n("inbox.count", 3)`` for words, ``spelled(text)`` for
  anything that is stored (principals, sessions and topics as much as texts), ``ago(moment)``, ``asset("console.js")``.
- Words are in ``data/console/LANGUAGE/PAGE.toml``, one file a page; every language has the same.
- ``static/console.js`` gives ``data-key="a"`` to whatever is clicked or focused by that key, ``j`` and ``k`` to
  ``data-row``, and tells of what is new by ``data-live``. Everything else works without it.
"""
