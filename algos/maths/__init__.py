"""What several kernels compute: relative entropies, posteriors, trees of noise, tied indices."""
