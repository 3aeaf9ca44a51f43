"""The red team: what a user runs against an own installation.

``runs`` lists what is measured, ``results`` keeps and judges it, ``report`` tells it.

- Attacks on who may act: ``attack``, ``attack_files``, their steps, ``stage``, ``playing``, ``battery``.
- An attacker that searches: ``sequences``, ``moves``, ``hunt``, proved on the weak memories of ``weak``.
- Attacks on what is found, and what honest people find: ``retrieval``, ``retrieval_attacks``, ``utility``, ``honest``.
- An agent that obeys whatever it reads: ``agent`` and its parts, ``obedient_model``, ``documents``.
- What is attacked: ``keep_store`` and ``keep_target``, and plain stores behind the protocol in ``store``.
"""
