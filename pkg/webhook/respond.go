package webhook

import (
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// concerns reports whether a request writes something that is checked: not a deletion, and not the status, even where a configuration
// sends those too.
func concerns(request *admission.Request) bool {
	written := request.Operation == admissionv1.Create || request.Operation == admissionv1.Update
	return written && request.SubResource == ""
}

// maxMessage is how many bytes a message may have. Some of them quote the request.
const maxMessage = 8 * 1024

// refuse answers with an error that the API server hands on to the client.
func refuse(err *apierrors.StatusError) admission.Response {
	status := err.Status()
	if len(status.Message) > maxMessage {
		status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "…"
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
