package webhook

import (
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// concerns reports whether a request must be checked. Deletions and writes of the status are not checked, even if a
// configuration sends them.
func concerns(request *admission.Request) bool {
	written := request.Operation == admissionv1.Create || request.Operation == admissionv1.Update
	return written && request.SubResource == ""
}

// maxMessage is the maximum size of a message in bytes. Some messages quote the request.
const maxMessage = 8 * 1024

// refuse returns a response with an error that the API server passes on to the client.
func refuse(err *apierrors.StatusError) admission.Response {
	status := err.Status()
	if len(status.Message) > maxMessage {
		status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "…"
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}
