"""The rival of set generation, for benchmarks only: all entities of a sentence in one sequence, as in Yan et al. (2021).

Importing it registers the architecture `sequence`:

python benchmarks/reproduce.py train recipes/set_gner/cadec.yaml --plugin rival --set architecture=sequence

It shares encoder, word vectors, decoder and copy output with `set_gner`; only the output format differs.
"""

from anyner.architectures.registry import register

register("sequence", __name__)
