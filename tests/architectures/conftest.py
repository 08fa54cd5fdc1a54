"""Its presence lets the tests of every architecture import `head_batches` from this folder."""
