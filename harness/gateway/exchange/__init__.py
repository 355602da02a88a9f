"""What tool calls, requests to hosts and models, and probes share on their way through the gateway.

`TrialContext` is what each endpoint is built from; `Exchange` counts, follows and traces; `replayed` plays a cassette;
`Recorder` writes one. What differs between the kinds is a `Codec`.
"""
