"""Other resources for a pod that runs (a resize in place): what is asked, what comes of it, and who is tried again.

request     the pod as it shall be, and what the API server says to it
verdict     what the kubelet says: allocated at once, put off, or infeasible
queue       the front door: a user asks, something frees, the kubelet restarts; and the order of those that wait

Who is asked to be resized and is not yet, the caller keeps (`Pending`). Nothing here knows of events or steps.
"""
