"""DiffusionNER: noisy spans are denoised in a few steps into the boundaries of entities, then typed (Shen et al. 2023)."""
