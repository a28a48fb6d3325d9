def is_mlx_available():
    return False
