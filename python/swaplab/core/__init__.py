"""Typed inputs and outputs: experiments, documents, traces, policies, files. It imports no other
layer of the package.
"""
