"""A decision told: what was needed and free where, and the one cause, as values first and as text last.

Read `claims` first: it lists what a story can claim. Then:

supply         what there is for whoever a merge is about, now and with nobody on the machine
cause          the cause of a decision, found
grid           what is needed, free and held on each NUMA node
wanted         the same where no merge tells why: for whom the sum counts, or no amount at all
elsewhere      why not on that NUMA node? What each merge says of it; elsewhere_words is the same as text
story          the whole of it, with a chapter for each merge
words          the claims as text; refused_words for what a manager refuses, evicted_words for who goes for a critical
               pod, resize_words for resizes in place, terms for amounts and nodes

All of it is read off the `Decision`; nothing is decided here a second time. A law in the tests takes every claim back
to the ledger and the machine by brute force.
"""
