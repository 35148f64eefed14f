oss_bucket = sess.oss_bucket  # type: oss2.Bucket

oss_bucket.put_object_from_file(
    "custom-job-example/train-data/train.csv", filename="train.csv"
)

job_train_data_uri = (
    "oss://{bucket_name}.{endpoint}/custom-job-example/train-data/train.csv".format(
        bucket_name=oss_bucket.bucket_name,
        endpoint=oss_bucket.endpoint.strip("https://"),
    )
)
print(job_train_data_uri)

job_output_path_uri = (
    "oss://{bucket_name}.{endpoint}/custom-job-example/output/".format(
        bucket_name=oss_bucket.bucket_name,
        endpoint=oss_bucket.endpoint.strip("https://"),
    )
)
print(job_output_path_uri)
