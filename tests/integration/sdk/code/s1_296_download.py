from jupyter_pai.sdk.common.oss_utils import parse_oss_url

model_url = job_output_path_uri + "model/xgb_model"
print(model_url)
object_key = parse_oss_url(model_url).object_key
oss_bucket.get_object_to_file(object_key, "xgb_model")
