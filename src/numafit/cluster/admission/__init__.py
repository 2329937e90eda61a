"""The admission webhook: the API server asks about each pod that is created, and a gate may be put on it.

    review         the question and the answer: AdmissionReview v1
    certificate    what the server shows, and who signed it: made, read, due to be made anew
    counts         what was answered, and what went wrong
    store          the Secret that replicas share
    options        how it is reached, and which pods it is asked about
    needs          the wish of the placer: which pods get its gate
    configuration  the MutatingWebhookConfiguration, kept as it should be
    rights         what all that needs to be allowed to do
    webhook        all of it, on the server of `https`: run one with wishes, functions from a pod to gates

Nothing here refuses a pod or changes anything but its gates. Whoever adds one has to take it away again.
"""
