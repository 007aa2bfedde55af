"""The typed ends of everything: experiments in, documents out, traces, policies, files. Imports nothing above itself."""
