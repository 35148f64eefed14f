from jupyter_pai.sdk.tikit.client import Client

# 初始化client。在公有云TI平台的环境（包括notebook和训练任务）中可以不填地区，环境变量中已经有地区信息。
# secret_id获取地址：https://console.cloud.tencent.com/cam/capi。
client = Client("your_secret_id", "your_secret_key", "<region>")

# 上传数据集（注：重复上传不会覆盖，会生成新的子目录，如有需要，可使用 client.delete_cos_path 删除旧数据）
client.upload_to_cos("LOCAL_PATH", "YOUR_BUCKE_NAME", "YOUR_COS_PATH")
