# 查看训练日志
client.describe_train_logs("train-544168070598700544*")
