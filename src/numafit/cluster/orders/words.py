"""The words of an order: the keys of its ConfigMap, and how it can stand."""

ORDERS = "numafit-switch-"
"""How the names of orders begin; the rest is the node's."""

CONFIG, CHOICES, APPROVED, UNDO = "config", "choices", "approved", "undo"
"""What is wanted. The configuration as text, the rest of the wish as JSON; the digest of the plan that may be carried
out; `true` where all is to be brought back."""
STATUS, DIGEST, MESSAGE, TEXT = "status", "digest", "message", "text"
PLAN, LOG, STEPS, KEPT = "plan", "log", "steps", "kept"
"""What the agent says."""

PLANNING, PLANNED, REFUSED, SAME, RUNNING = "planning", "planned", "refused", "same", "running"
SWITCHED, UNDONE, UNFINISHED = "switched", "undone", "unfinished"
OVER = (REFUSED, SAME, SWITCHED, UNDONE)
"""Nothing more comes of it."""
